package watch_test

import "testing"

func makePipe(testing.TB, string) {}
