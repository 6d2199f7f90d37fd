// Package dir keeps receipts in a folder of the machine's file system: for
// targets that are driven from one machine, for tests, and as a copy.
//
// # Layout
//
//	records/20260304T050607.000000089Z-HEX.json   one record each
//	outcomes/HEX.jsonl                            its outcomes, one per line
//	pointers.json                                 the pointers and their version
//	lock                                          held by whoever writes
//
// HEX are the digits of the receipt's ID. A record's file holds its canonical
// bytes and nothing else, so `sha256sum` of it prints HEX. The time before HEX
// is when the store first held the record, in UTC; it is part of the name
// because a folder that is copied loses its files' times. Within a store it
// always grows, also when the machine's clock goes back.
//
// # Guarantees
//
// Every file is written under a temporary name, flushed to the disk and then
// renamed, and the rename is flushed too, before a call returns. A process that
// is killed, or a machine that loses power, leaves the file as it was before or
// as it should be after; what may be left over is a temporary file, named
// ".tmp-…", which the next write removes.
//
// Writers of all processes take turns by an advisory lock on the file "lock".
// Readers take no lock. Network file systems are not safe to use: their locks
// and renames may not hold between machines.
//
// Deleting a receipt removes its record first. Outcomes that a process leaves which
// is killed after that belong to no receipt, and go with the next deletion.
//
// A file that does not hold what its name says is reported as a *[FileError],
// which is a receipt.ErrCorrupt, with its path. Damaged pointers can be replaced
// by who has read them: their Version stands for the damaged content then. Their
// new version is the time in nanoseconds, which is ahead of any count.
package dir
