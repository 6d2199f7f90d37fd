// Package image makes the image that a takeover's agent runs from: one for each
// session, published by digest.
//
//	program's layer   /pharos-agent, the same for all sessions
//	session's layer   /pharos-session.json
//
// The program is built by Pharos's own Go builder from sources that come with this
// package, when the registry does not have what they make yet: nobody publishes it
// for others, and whoever takes over needs no more than a Go command. The session's
// document is in the image and not in the pod, so that nothing has to be added to
// the pod's template, and the digest of the image says which session it belongs to.
//
// # Where it is
//
// All of it is in one repository, "pharos-agent" beside the catalogue's images. Each
// index has the fingerprint of what it was made of: that of the sources, their
// toolchain and the platforms for the program, and that with the session and the
// user for an agent. Publishing the same again gives the same digest and sends
// nothing; it may be killed at any point and be done again.
//
// # The user
//
// An agent runs as the user that the original image says, so that what the pod is
// permitted stays what it is. A numeric one is taken as it is. A name means nothing
// in an image without users, so it stands for 65532 there, but for root.
package image
