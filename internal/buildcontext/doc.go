// Package buildcontext finds Dockerfiles that were written for a build context of
// their own: a folder of the tree, as in "docker build web", while the context of
// Pharos is the tree's root.
//
// Such a Dockerfile may fail at the root, since its sources are not there. Worse,
// it may succeed and make a wrong image: "COPY . ." takes whatever lies at the root.
// So what lies in the folder and in the files of other tools counts too:
//
//   - a source that is missing at the root and lies in a folder above the
//     Dockerfile is that folder's
//   - a Compose file (https://docs.docker.com/reference/compose-file/build/) or a
//     skaffold.yaml names the context
//   - docker reads ignore rules at the root of the context or beside the Dockerfile
//     under the Dockerfile's name, so a .dockerignore in a folder is written for
//     builds in it
//   - "COPY . ." beside a package.json, go.mod, requirements.txt or pyproject.toml of
//     which there is none at the root, by a Dockerfile that names nothing of its
//     folder by a path from the root
package buildcontext
