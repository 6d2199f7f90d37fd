// Package build puts builders together: each function takes a
// [lifecycle.Builder] and returns one that does a little more.
//
//   - [Limit] runs no more than so many builds at once.
//   - [Record] reports when builds begin and end, and how.
//   - [Cache] does not build again what this process has built, and builds once
//     what is asked for several times at once.
//
// They are put around each other in the order in which they are to act. Here a
// build that Cache answers takes no turn of Limit, and Record reports how long a
// build took without the wait for its turn:
//
//	builder = build.Cache(build.Limit(build.Record(builder, time.Now, sink), 4), registry)
//
// What they return is safe for concurrent use, as every builder is, holds no
// goroutine, and hands errors and results on as they are. The builders themselves
// are in the folders below.
package build
