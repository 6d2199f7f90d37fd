// Package scratch makes private folders in which to build or to run a program, and
// removes those that a killed process left.
//
// A folder is locked as long as it is in use, and the system lets go of the lock
// however the process ends. So whoever makes the next folder with the same
// prefix in the same place can tell what is left behind from what is in use. On
// file systems that are shared between machines the locks may not hold.
package scratch
