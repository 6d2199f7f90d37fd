// Package keptfile keeps what a program knows in one small file, which several processes
// of a machine may read and write at once, and any of which may be killed at any moment.
//
//	f, err := keptfile.Open(dir, "state.json", 64<<10)
//	data, version, err := f.Read()
//	version, err = f.Write(changed, version) // ErrConflict if somebody else has written
//
// The file is in a folder of its own, beside its lock, for this user alone (0700 and
// 0600). It is written under another name, flushed and renamed, and the folder is
// flushed, before a Write returns: a process that is killed, or a machine that loses
// power, leaves the old content or the new one. What a writer that was killed left is
// removed by the next one.
//
// Its version is a hash of its content, so that it says what was read, whoever wrote it.
// What is not a file of at most the size that was agreed on is never written over:
// ErrKind.
//
// Network file systems are not safe: their locks may not hold.
package keptfile
