// Package render turns a kustomize overlay in a Git tree into the objects to
// deliver, without a checkout and without a network.
//
// # What is read
//
// kustomize (sigs.k8s.io/kustomize/api) runs on a read-only file system that
// has nothing in it but the tree. A base may stand anywhere in the tree, also
// beside or above the overlay's folder; symbolic links are followed inside the
// tree; a path or link that leaves it is an error. The paths that were read, with
// the links on the way, are the [lifecycle.Rendering]'s Reads, and so are those
// that were looked for in vain: a second kustomization in a folder is an error. A
// commit that changes none of them, and adds none, renders the same.
//
// # What is refused
//
// Everything that would make the result depend on more than the commit:
//
//   - remote bases and files ([ErrRemote]). kustomize fetches a URL before it
//     asks the file system, and takes some local paths for repositories.
//     Therefore the whole graph of kustomizations is scanned before kustomize
//     runs: resources, bases, components, crds, configurations, the schema,
//     patches, replacements, generators' files and plugins' configurations.
//   - plugins that are not built in ([ErrPlugin]), and helm charts ([ErrHelm]);
//   - input on which kustomize would recurse or multiply without end
//     ([ErrCycle], [ErrTooLarge]): at most 16 MiB for a file, 256 MiB and
//     100,000 files and kustomizations, counted as often as they are used, for
//     an overlay; and maps and lists at most 256 deep in each other.
//
// Values of Secrets that stand in the tree in plain text ([ErrPlainSecret]) are
// refused too, wherever in it: in a manifest, in a generator or in a patch. Names
// belong in Git, and values in a store. The annotation pharos.dev/secret-values:
// harmless on the Secret says that anybody may read them. Messages name keys,
// never values.
//
// All that is wrong is reported together, each with file, line and field; see
// [Problem].
//
// # What is set
//
// A kustomization on top of the overlay sets the images of the request, by
// kustomize's own images field, and its labels, on objects only. It is applied
// last, so it sees the images as the overlay leaves them: one that a
// kustomization renames with newName would no longer be the catalogue's, and
// something else would be delivered in its place. It is refused ([ErrRenamed]).
//
// # What comes out
//
// Objects stand in an order to apply: namespaces, definitions of resources,
// then kustomize's legacy order (what others refer to first, webhooks last),
// then by namespace and name. It does not depend on the order of the files;
// sortOptions of the overlay have no effect. Lists are taken apart. An object
// has a name ([ErrUnnamed]), and no two have the same group, kind, namespace
// and name ([ErrDuplicate]).
//
// An object's JSON is in the form of RFC 8785, except that an integer beyond
// 2^53 keeps all of its digits: RFC 8785 would round it to a double, and the
// API server would get another number than the commit has.
//
// Findings name images of the request that no object uses, with the likely
// reason, and images of pods, of any kind of object, without a digest.
// buildMetadata is left out, and said to be, since what it writes into the
// objects depends on the renderer's surroundings.
//
// # What is kept
//
// With a [Cache], a rendering is used again for the same overlay, images and
// labels, of a tree that answers all that the render asked of it in the same way:
// each entry of a folder that was looked up, be it there or not. A folder with the
// same ID is not even looked into, so that a commit that changes nothing of the
// overlay costs a few tree objects. Since kustomize sees nothing but the tree, the
// answers decide what comes out; the key has the program as well. Errors are not
// kept.
//
//	cache := render.NewCache(render.CacheConfig{Dir: filepath.Join(gitDir, "pharos", "renderings")})
//	renderer := render.New(render.WithCache(cache))
//
// # Concurrency
//
// kustomize keeps the schema that it merges patches by in global variables. One
// render at a time has it run; the tree is read, and what was kept is found, in
// parallel. When Render returns, nothing of it runs or is open.
//
// # Deprecated fields
//
// The deprecated fields of kustomizations work. For patchesJson6902 and vars,
// which have no exact equal among the newer fields, kustomize itself writes a
// warning to the process's standard error; its API has no way to stop it.
package render
