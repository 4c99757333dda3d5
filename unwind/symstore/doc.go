// Package symstore finds the symbol file and the binary of a module: in symbol stores, in directories of symbol files,
// in single files; in directories of binaries by path, name and build id.
//
// # Symbol stores
//
// The layout is that of Breakpad's SimpleSymbolSupplier (src/processor/simple_symbol_supplier.cc):
//
//	ROOT/DEBUGFILE/ID/NAME.sym
//
// DEBUGFILE is the base name of the module's debug file, NAME the same without ".pdb". A store is asked by path alone
// and never listed for a file that is there.
//
// # What else a root may be
//
// A directory that is not laid out so is scanned once, when first needed, for files called *.sym, *.sym.gz and
// *.sym.zst. They are matched by the id in their MODULE record. Directories below it are scanned as well, three deep,
// unless the root is a store: some of its directories hold directories that are called like an id. Directories called
// like an id are never entered. A scan ends after 32768 directory entries, and says so.
//
// A file is matched by its MODULE record, whatever it is called. gzip and zstd are recognised by content.
package symstore
