# gdb -q -batch -x truth.py PROGRAM CORE: what gdb takes for the frames.
import gdb
sp = {"i386:x86-64": "$rsp", "s390:64-bit": "$r15"}.get(gdb.selected_frame().architecture().name(), "$sp")
print("#thread\tlevel\tpc\tsp\tfunction")
for t in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
    t.switch()
    f = gdb.newest_frame()
    while f is not None and f.level() < 40 and f.is_valid():
        f.select()
        print("%d\t%d\t0x%x\t0x%x\t%s" % (t.num, f.level(), f.pc(), int(gdb.parse_and_eval("(unsigned long)" + sp)), f.name() or "?"))
        f = f.older()
