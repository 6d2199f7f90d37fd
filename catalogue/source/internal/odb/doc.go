// Package odb reads Git's object databases: loose objects, packs with their
// indexes, multi-pack-indexes, and alternates, of SHA-1 and SHA-256 repositories.
// The formats are those of gitformat-pack(5) and gitrepository-layout(5).
//
// What a read costs depends neither on how many objects there are nor on how
// large the packs are: an index is searched where it lies, of a pack only the
// object and the bases of its delta are read, and nothing is loaded beforehand.
// Small indexes are kept in memory, and a few small packs are asked before all
// others: they are of the last fetches, and what is newest is what is read most.
// Of these packs the parts that were read are kept too.
//
// # Trust
//
// Every number in a file is the word of whoever wrote it. Offsets and sizes are
// held against the file, and memory grows with what was really read. A delta's
// chain is bounded in length and in the bytes that it makes. What is returned as
// a whole is held against its ID; a stream is not, its reader has to do so. The
// files are read, never mapped: one that another process cuts short is an error
// and no fault of memory.
//
// # Running git commands
//
// A pack may be replaced by another, and a loose object go into one, at any time.
// What is not found, or not as it should be, is looked for once more with the
// packs as they are then.
package odb
