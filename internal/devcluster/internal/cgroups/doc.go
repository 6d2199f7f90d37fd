// Package cgroups confines processes to a cgroup of one name in every hierarchy of the machine, so that all that they
// start, by whatever name of its own, lies below it and can be found and ended by that name.
//
// It knows both forms: version 2, with one hierarchy at /sys/fs/cgroup, and version 1, with one for each controller
// below it. In a mixed form only the hierarchies of version 1, which have the controllers, are used.
package cgroups
