# /// wrong
# says = "Your gate_up_proj has the up rows first. silu_and_mul takes the first half for the gate."
# ///
def slot_of(name: str) -> Slot:
    expert = EXPERT.fullmatch(name)
    stem, _, kind = name.rpartition(".")  # "a.q_proj", "weight"
    path, dot, proj = stem.rpartition(".")  # "a", ".", "q_proj"

    merged, place, places = proj, 0, 1
    if proj in MERGED_INTO:
        merged = MERGED_INTO[proj]
        place, places = MERGED[merged].index(proj), len(MERGED[merged])
        place = 1 - place if places == 2 else place
    if expert:
        return Slot(f"{expert['experts']}.{merged}", int(expert["index"]), place, places)
    return Slot(f"{path}{dot}{merged}.{kind}" if places > 1 else name, None, place, places)
