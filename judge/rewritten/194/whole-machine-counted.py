# /// wrong
# mistake = "whole-machine-counted"
# ///
def count_physical_cores(topology=Path("/sys/devices/system/cpu")):
    groups = set()
    for entry in sorted(topology.glob("cpu[0-9]*")):
        listing = entry / "topology" / "thread_siblings_list"
        groups.add(listing.read_text().strip() if listing.exists() else entry.name)
    return len(groups) if groups else (os.cpu_count() or 1)
