// Package problem collects what is wrong with an image's inputs, so that a person
// hears of all of it at once.
package problem
