// Package durations is the table of durations that the parser, the pattern and the
// policies in the cluster are held to, value by value.
package durations
