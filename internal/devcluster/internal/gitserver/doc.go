// Package gitserver serves Git repositories over smart HTTP with git's own git-http-backend.
//
// A path that ends in ".git" is a bare repository. The first push to it makes it; to a fetch it is not found until then. There
// is no authentication.
package gitserver
