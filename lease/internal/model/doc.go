// Package model is the protocol of package lease, small enough for a program to
// look at every state that it can come to.
//
// Some processes want a lease, hold it, renew it, write under it and give it back;
// one may break it, one sweeps what others left. Each step is what happens between
// two points at which something else can come in between: a call to the API
// server, with what is decided by its answer. The steps follow the code, and name
// the functions that they are taken from. What the code does in a row without a
// call is one step. A process that is killed takes no further step, so that this
// needs no step of its own; only one whose lease is taken up by another does.
//
// What is left out makes no state impossible that the code can come to, or is
// tested elsewhere:
//
//   - An answer arrives when it is given. A process that gets it late looks at its
//     own clock once more, and so does less.
//   - Release reads the lease first, also where it knows it.
//   - Acquire does not sweep. The sweeper does, at any time, for each claim that
//     Acquire and Break can make. Nor does it wait for what is being written.
//   - A gate has one window for each holder. What else it does, and what people do
//     to it, is what the tests of package lease/argocd are for.
//   - Maintenances, which do not end, and Retake.
package model
