package inventory

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Sample is what one look counted.
type Sample struct {
	Time time.Time `json:"time"`
	// Scope is where was looked; only samples of one scope are compared.
	Scope string `json:"scope"`
	// Counts are the transient objects by resource. A resource that is not named had
	// none, unless it is among Unread, or not all resources were known.
	Counts  map[string]int `json:"counts"`
	Unread  []string       `json:"unread,omitempty"`
	Partial bool           `json:"partial,omitempty"`
}

// scopeOf names where was looked.
func scopeOf(namespaces []string) string {
	if len(namespaces) == 0 {
		return "all"
	}
	return strings.Join(namespaces, ",")
}

// Trend is how a count moves.
type Trend struct {
	// PerHour is the median of the slopes between all pairs of readings (Theil and
	// Sen), which a few readings out of line do not change.
	// Source: https://en.wikipedia.org/wiki/Theil–Sen_estimator
	PerHour float64 `json:"perHour"`
	// Readings is how many there are, this look's own included, Since the first one.
	Readings int       `json:"readings"`
	Since    time.Time `json:"since"`
	// Climbing says that there are ever more: by that slope at least three more since
	// then and a fifth of the median, and no more than a quarter of the pairs fall.
	Climbing bool `json:"climbing"`
}

// The least that a trend is told by.
const (
	minReadings = 8
	minSpan     = time.Hour
)

// reading is a count at a time.
type reading struct {
	at    time.Time
	count float64
}

// trendOf returns the trend of readings in the order of time, or nil if they are too
// few or too close to each other to tell.
func trendOf(readings []reading) *Trend {
	if len(readings) < minReadings {
		return nil
	}
	first, last := readings[0].at, readings[len(readings)-1].at
	if last.Sub(first) < minSpan {
		return nil
	}
	var slopes, counts []float64
	for i, a := range readings {
		counts = append(counts, a.count)
		for _, b := range readings[i+1:] {
			if hours := b.at.Sub(a.at).Hours(); hours > 0 {
				slopes = append(slopes, (b.count-a.count)/hours)
			}
		}
	}
	slices.Sort(slopes)
	slices.Sort(counts)
	slope := middle(slopes)
	t := &Trend{PerHour: math.Round(slope*100) / 100, Readings: len(readings), Since: first}
	t.Climbing = slopes[len(slopes)/4] >= 0 && slope*last.Sub(first).Hours() >= max(3, middle(counts)/5)
	return t
}

// middle is the median of sorted numbers.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// tells says whether the sample has a count of a resource, which may be zero.
func (s Sample) tells(resource string) bool {
	_, counted := s.Counts[resource]
	return (counted || !s.Partial) && !slices.Contains(s.Unread, resource)
}

// concludeTrends compares what was counted with the samples of the same scope.
func (l *look) concludeTrends() {
	now := l.report.Sample()
	samples := slices.DeleteFunc(slices.Clone(l.request.Samples), func(s Sample) bool { return s.Scope != now.Scope || !s.Time.Before(now.Time) })
	slices.SortFunc(samples, func(a, b Sample) int { return a.Time.Compare(b.Time) })
	samples = append(samples[max(0, len(samples)-MaxSamples):], now)
	for n := range l.report.Transient {
		g := &l.report.Transient[n]
		var readings []reading
		for _, s := range samples {
			if s.tells(g.Resource) {
				readings = append(readings, reading{s.Time, float64(s.Counts[g.Resource])})
			}
		}
		if slices.Contains(now.Unread, g.Resource) {
			continue
		}
		if g.Trend = trendOf(readings); g.Trend != nil && g.Trend.Climbing {
			l.find(Climbing, nil, g.Resource, fmt.Sprintf("there are ever more: %d now, about %+.3g an hour over %d readings since %s", g.Count, g.Trend.PerHour, g.Trend.Readings, g.Trend.Since.UTC().Format(time.RFC3339)))
		}
	}
}
