package durations

import "time"

// Case is a text, and the duration that it is or why it is none.
type Case struct {
	Text string
	Is   time.Duration
	Why  string
}

const day = 24 * time.Hour

// Cases are what every reader of durations agrees about.
var Cases = []Case{
	{Text: "1s", Is: time.Second},
	{Text: "90s", Is: 90 * time.Second},
	{Text: "15m", Is: 15 * time.Minute},
	{Text: "36h", Is: 36 * time.Hour},
	{Text: "7d", Is: 7 * day},
	{Text: "2w", Is: 14 * day},
	{Text: "1d12h", Is: 36 * time.Hour},
	{Text: "1w2d3h4m5s", Is: 9*day + 3*time.Hour + 4*time.Minute + 5*time.Second},
	{Text: "1w5s", Is: 7*day + 5*time.Second},
	{Text: "100h100m", Is: 100*time.Hour + 100*time.Minute},
	{Text: "3650d", Is: 3650 * day},
	{Text: "521w3d", Is: 3650 * day},
	{Text: "315360000s", Is: 3650 * day},
	{Text: "3649d24h", Is: 3650 * day},

	{Text: "", Why: "it is empty"},
	{Text: "3600", Why: "it has no unit"},
	{Text: "0", Why: "it has no unit"},
	{Text: "0s", Why: "begins with a zero"},
	{Text: "1h0m", Why: "begins with a zero"},
	{Text: "007d", Why: "begins with a zero"},
	{Text: "00", Why: "it has no unit"},
	{Text: "-7d", Why: `"-7d": a number of w, d, h, m or s is expected`},
	{Text: "+7d", Why: "is expected"},
	{Text: "1d-1h", Why: `not "d-1h"`},
	{Text: "1.5h", Why: `not ".5h"`},
	{Text: "1,5h", Why: `not ",5h"`},
	{Text: ".5h", Why: "is expected"},
	{Text: "1e3s", Why: `not "e3s"`},
	{Text: "0x10s", Why: "begins with a zero"},
	{Text: "1_000s", Why: `not "_000s"`},
	{Text: "500ms", Why: `not "ms"`},
	{Text: "1d500ms", Why: `"500" has no unit`},
	{Text: "5us", Why: `not "us"`},
	{Text: "5ns", Why: `not "ns"`},
	{Text: "5mx", Why: `not "mx"`},
	{Text: "1h30", Why: `"30" has no unit`},
	{Text: "30m1h", Why: `"h" stands after a smaller unit or the same`},
	{Text: "1h1h", Why: `"h" stands after a smaller unit or the same`},
	{Text: "1s1w", Why: `"w" stands after`},
	{Text: "1y", Why: `not "y"`},
	{Text: "1M", Why: `not "M"`},
	{Text: "1D", Why: `not "D"`},
	{Text: "7days", Why: `not "days"`},
	{Text: "P7D", Why: "is expected"},
	{Text: "h", Why: "is expected"},
	{Text: "forever", Why: "is expected"},
	{Text: " 1h", Why: "is expected"},
	{Text: "1h ", Why: `not "h "`},
	{Text: "1h 30m", Why: `not "h 30m"`},
	{Text: "1h\n", Why: "has no unit"},
	{Text: "\n1h", Why: "is expected"},
	{Text: "1h\x00", Why: "has no unit"},
	{Text: "１h", Why: "is expected"},
	{Text: "٣h", Why: "is expected"},
	{Text: "3651d", Why: "more than 3650d"},
	{Text: "3650d1s", Why: "more than 3650d"},
	{Text: "315360001s", Why: "more than 3650d"},
	{Text: "521w3d1s", Why: "more than 3650d"},
	{Text: "999999999w", Why: "more than 3650d"},
	{Text: "999999999w999999999d999999999h999999999m999999999s", Why: "more than 3650d"},
	{Text: "9999999999s", Why: "more than 3650d"},
	{Text: "9223372036854775807s", Why: "more than 3650d"},
	{Text: "9223372036854775808s", Why: "more than 3650d"},
	{Text: "99999999999999999999999999999999s", Why: "more than 3650d"},
}
