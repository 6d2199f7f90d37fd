// Package registry pushes images to container registries, and asks what is
// there. It speaks the OCI distribution specification, by go-containerregistry.
//
// # What is evidence
//
// An image that Pharos built is an OCI image index with these annotations:
//
//	pharos.dev/fingerprint   what it was built from: "sha256:" and 64 hexadecimal digits
//	pharos.dev/toolchain     what built it, such as "go1.26.8"
//
// It is pushed by digest. The tag "d-" followed by the digest's 64 digits is its
// own, so that it stays listed, and no garbage, whatever becomes of other tags: a
// build that gives other bytes each time has several images of one fingerprint.
// [Registry.Keep] gives that tag to what others push. The tag "fp-" followed by the
// fingerprint's 64 digits
// is moved to it last, when all of it is there, and only serves to find it:
// tags can be moved by anyone, so [Registry.Find] believes the annotation, which
// the digest covers, and nothing else. No manifest should name that tag.
//
// # What a registry lost
//
// Registries lose parts of an image: a garbage collection at the wrong moment, a
// restored backup, a full disk. An index says nothing of that, so:
//
//   - [Registry.Has] asks for the index alone, with a HEAD request. One for each
//     image is what an answer that nothing changed may cost. [Registry.Lookup]
//     reads the index.
//   - [Registry.Find] and [Registry.Verify] ask for every manifest and every blob
//     that the index names, and call an image that is not complete not found.
//     They are for images that are about to be delivered.
//   - [Registry.Push] asks for the same, and sends what is not there, whether or
//     not the registry has the index. So building an image again mends it: the
//     same build has the same digests.
//
// # What is sent
//
// A push asks for each blob before it sends it, so what arrived is never sent
// again, also after a process that was killed. Layers of an image that
// [Registry.Image] returned, and that lie in another repository of the same
// registry, are mounted from there; where the registry does not do that they are
// copied.
//
// # What is deleted
//
// [Registry.List] shows what tags lead to, and [Registry.Delete] deletes a manifest
// and the tags that still lead to it then. Which images are needed is not known
// here: lifecycle.Lifecycle.DeleteImages knows. The blobs are left to the registry's
// own garbage collection.
//
// # Plain HTTP
//
// go-containerregistry falls back to plain HTTP by itself for localhost, the
// loopback addresses, names that end in ".local" and the private addresses of
// RFC 1918. Here that is refused, with an error that says so, unless
// [Config].Insecure is set or [Config].InsecureHosts names the host. HTTPS is
// tried first then, and plain HTTP where that fails. What an insecure registry
// redirects to is on another host, and not allowed by its name.
//
// # Tags
//
// [Registry.Resolve] says where a tag leads now. It is for those who write that
// down, as kubectl pharos lock does; nothing else here follows a tag.
//
// # Failures
//
// What fails with status 408, 429, 5xx, or a connection that breaks, is tried
// again four times, after 0.5, 1, 2 and 4 s and up to half as much more, or
// when a Retry-After says so (30 s at the most; who wants more than all rests
// together is not asked again). Rests end with the context, and one that would
// last beyond its deadline is not begun: the error is what was answered. A
// registry that cannot be reached at all, and one that refuses (401, 403), is
// an error at once, and so is one that leads a request on more than ten times.
// A push goes on where it broke off.
//
// Errors are *[lifecycle.Error] with the operation, the image and, where there
// is any, advice. A fault of this machine (a file that cannot be read, a full disk,
// too many open files) is of no class. They match [lifecycle.ErrUnreachable] if the registry cannot
// be reached, refuses, or answers what no registry may, and
// [lifecycle.ErrImageNotFound] if it says that it has no such thing; they hold no
// credentials, and no addresses of uploads, which may contain some.
//
// A registry's greeting (GET /v2/), which says how to log in, is asked for once
// and host, not once and repository.
package registry
