package clusters

import (
	"strings"
	"testing"
	"time"
)

// Times of logs are UTC, or of a zone: one that its clocks left out or showed twice is refused
// with the times that it could be, so that nobody searches the wrong hour.
func TestTimesWithoutAnOffset(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	howe, err := time.LoadLocation("Australia/Lord_Howe") // its clocks move by half an hour
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text string
		zone *time.Location
		want string
	}{
		{"2026-03-29 02:30", time.UTC, "2026-03-29T02:30:00Z"},
		{"2026-03-29 01:59", berlin, "2026-03-29T00:59:00Z"},
		{"2026-03-29 03:00", berlin, "2026-03-29T01:00:00Z"},
		{"2026-07-01", berlin, "2026-06-30T22:00:00Z"},
		{"2026-10-25T02:30:00+02:00", berlin, "2026-10-25T00:30:00Z"},
		{"2026-10-25T02:30:00+01:00", berlin, "2026-10-25T01:30:00Z"},
		{"2026-03-29T02:30:00Z", berlin, "2026-03-29T02:30:00Z"},
		{"2026-03-29 02:30", berlin, "error: was left out in Europe/Berlin"},
		{"2026-10-25 02:30", berlin, "error: 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"},
		{"2026-04-05 01:45", howe, "error: was twice in Australia/Lord_Howe"},
		{"2026-10-04 02:15", howe, "error: was left out"},
		{"yesterday", time.UTC, "error: is no time"},
	} {
		at, err := readTime(tc.text, tc.zone)
		if want, fails := strings.CutPrefix(tc.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %s: %v, %v", tc.text, tc.zone, at, err)
			}
		} else if err != nil || at.UTC().Format(time.RFC3339) != tc.want {
			t.Errorf("%s in %s: %v, %v, want %s", tc.text, tc.zone, at, err, tc.want)
		}
	}
}
