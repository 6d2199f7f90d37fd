// Package files builds images of files alone: a folder of the pruned tree becomes
// one layer, with no base and nothing run. They are for static sites and
// configuration, as the base of another image, in a COPY --from, or as a volume of
// a pod; and, with a media type of their own, for OCI artifacts such as Wasm
// modules.
//
// # What goes in
//
// Of the folder from, everything that is among the image's inputs, and nothing
// else: it is read from Git's objects, never from a working directory. Symbolic
// links stay links, and must lead to something in the folder. A submodule, a Git
// LFS pointer, and (in an image) a name that begins with ".wh.", which means a
// deletion in a layer, are refused.
//
// # The layer
//
// A tar archive of the folder below root, whose parents are in it as folders,
// sorted bytewise by name, compressed with gzip at its fastest level. Everything
// belongs to user and group 0 and has the time 0. Modes are Git's: 0644 for a
// file, 0755 for an executable one and for a folder.
//
// # An image
//
// Without a media type, or with that of an ordinary layer
// (application/vnd.oci.image.layer.v1.tar+gzip, or …tar, which is not compressed),
// the result is an OCI index of one image for each platform: its configuration
// names the platform and nothing to run, and all share the one layer.
//
// # An artifact
//
// With another media type it is an OCI artifact, as the image specification 1.1
// has it (https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidelines-for-artifact-usage):
// a manifest of that artifactType with the empty configuration
// (application/vnd.oci.empty.v1+json) and one blob of that media type. An artifact
// is of no platform, so there is one manifest, which the index names for each.
//
//   - A media type whose name ends with "tar", "tar+gzip", "tar.gzip" or "tgz", such
//     as application/vnd.example.site.v1.tar+gzip, makes the blob of the folder: the
//     archive of above, below root.
//   - Any other one, such as application/wasm, makes it of one file as it is, with
//     its path in the folder as the annotation org.opencontainers.image.title, as
//     ORAS has it. The folder must hold exactly one file then.
//   - If from names a file, that goes in as it is, of whatever media type.
//
// What can be understood in two ways is refused: other compressions, an archive in
// an archive, a root for a file that goes in as it is, media types of manifests and
// configurations.
//
// # Guarantees
//
// The same inputs and recipe give the same bytes, in any folder, at any time, for
// any user. Memory does not grow with the size of files. A build has one private
// folder in [Config].TempDir, named "pharos-files-" and a random number, as long as
// it runs; what a killed process left is removed by the next build in the same
// TempDir.
package files
