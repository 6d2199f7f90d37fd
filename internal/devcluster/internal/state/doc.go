// Package state keeps what a cluster must find again when it is restarted: its folder, port, keys and credentials.
//
// A folder belongs to one process at a time, which holds a lock on the file "lock" in it. The system releases the lock
// when the process ends, however it ends, so a folder whose lock can be taken is not in use. Everything in the folder is
// readable by its owner only.
package state
