package dockerfile

import (
	"strconv"
	"time"
)

// epochArg is the build argument that times in the image are set to
// (https://reproducible-builds.org/docs/source-date-epoch).
const epochArg = "SOURCE_DATE_EPOCH"

// epoch returns the seconds since 1970 that times are set to. BuildKit takes other
// values too, none of which is the same everywhere: nothing, and the name of what
// has the time.
func (b *build) epoch(found *problems) int64 {
	text, given := b.recipe.Args[epochArg]
	if !given {
		return 0
	}
	seconds, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err != nil:
		found.say("build.dockerfile.args: %s is %q: write seconds since 1970, such as \"1700000000\", or leave it out, which means 0", epochArg, text)
	case int64(seconds) > time.Now().Unix():
		found.say("build.dockerfile.args: %s is %s, which is in the future: files older than that would keep their times", epochArg, text)
	}
	return int64(seconds)
}
