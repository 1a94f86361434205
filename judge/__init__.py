"""The workbook's judge. Data flows one way: steps, skeleton, tree, wire, sandbox, oracle, expect, verdict, runner, diagnose, report."""
