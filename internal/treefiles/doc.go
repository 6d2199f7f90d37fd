// Package treefiles lists the files of a Git tree at once, and refuses a tree that
// stands for more of them than any disk holds before it walks it: a few kilobytes
// of directories that hold each other can.
package treefiles
