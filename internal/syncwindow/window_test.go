package syncwindow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/syncwindow"
)

func parse(t *testing.T, specs ...syncwindow.Spec) []syncwindow.Window {
	t.Helper()
	var all []syncwindow.Window
	for _, s := range specs {
		w, err := syncwindow.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestWindowsHoldAndRelease(t *testing.T) {
	night := syncwindow.Spec{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h"}
	berlin := syncwindow.Spec{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h", TimeZone: "Europe/Berlin"}
	work := syncwindow.Spec{Kind: "allow", Schedule: "0 9 * * mon-fri", Duration: "8h"}
	manual := syncwindow.Spec{Kind: "deny", Schedule: "@daily", Duration: "24h", Manual: true}
	project := syncwindow.Spec{Kind: "allow", Schedule: "0 9 * * mon-fri", Duration: "8h", Level: "project"}
	weekend := syncwindow.Spec{Kind: "allow", Schedule: "0 0 * * sat", Duration: "48h"}
	monday := syncwindow.Spec{Kind: "allow", Schedule: "0 10 * * mon", Duration: "1h", Manual: true}
	for name, test := range map[string]struct {
		windows []syncwindow.Spec
		at      string
		asked   bool
		held    bool
		until   string
	}{
		"none":                        {nil, "2026-01-05T12:00:00Z", false, false, ""},
		"before a deny window":        {[]syncwindow.Spec{night}, "2026-01-05T21:59:59Z", false, false, ""},
		"as it begins":                {[]syncwindow.Spec{night}, "2026-01-05T22:00:00Z", false, true, "2026-01-06T06:00:00Z"},
		"past midnight":               {[]syncwindow.Spec{night}, "2026-01-06T05:59:59Z", false, true, "2026-01-06T06:00:00Z"},
		"as it ends":                  {[]syncwindow.Spec{night}, "2026-01-06T06:00:00Z", false, false, ""},
		"in winter time":              {[]syncwindow.Spec{berlin}, "2026-01-05T21:00:00Z", false, true, "2026-01-06T05:00:00Z"},
		"in summer time":              {[]syncwindow.Spec{berlin}, "2026-07-05T20:00:00Z", false, true, "2026-07-06T04:00:00Z"},
		"over a change of the clocks": {[]syncwindow.Spec{berlin}, "2026-03-29T04:59:00Z", false, true, "2026-03-29T05:00:00Z"},
		"in an allow window":          {[]syncwindow.Spec{work}, "2026-01-05T12:00:00Z", false, false, ""},
		"on a week end":               {[]syncwindow.Spec{work}, "2026-01-03T12:00:00Z", false, true, "2026-01-05T09:00:00Z"},
		"deny wins":                   {[]syncwindow.Spec{work, manual}, "2026-01-05T12:00:00Z", false, true, ""},
		"a person asks":               {[]syncwindow.Spec{manual}, "2026-01-05T12:00:00Z", true, false, ""},
		"a person asks in vain":       {[]syncwindow.Spec{night}, "2026-01-05T23:00:00Z", true, true, "2026-01-06T06:00:00Z"},
		"a person outside of allow":   {[]syncwindow.Spec{{Kind: "allow", Schedule: "0 9 * * 1", Duration: "1h", Manual: true}}, "2026-01-03T12:00:00Z", true, false, ""},
		// Each level must let a sync through.
		"its own window does not open the project's": {[]syncwindow.Spec{weekend, project}, "2026-01-03T12:00:00Z", false, true, ""},
		"the project's does not open its own":        {[]syncwindow.Spec{weekend, project}, "2026-01-05T12:00:00Z", false, true, ""},
		"both are open":                              {[]syncwindow.Spec{monday, project}, "2026-01-05T10:30:00Z", false, false, ""},
		"one after the other":                        {[]syncwindow.Spec{monday, project}, "2026-01-03T12:00:00Z", false, true, "2026-01-05T10:00:00Z"},
		"a person passes the own level alone":        {[]syncwindow.Spec{monday, project}, "2026-01-03T12:00:00Z", true, true, "2026-01-05T09:00:00Z"},
		"two of one level":                           {[]syncwindow.Spec{work, weekend}, "2026-01-03T12:00:00Z", false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := syncwindow.Judge(parse(t, test.windows...), at(t, test.at), test.asked)
			if v.Held != test.held || v.Held == (v.Why == "") {
				t.Errorf("%+v", v)
			}
			if test.until == "" && v.Until.IsZero() {
				return
			}
			if want := at(t, test.until); !v.Until.Equal(want) {
				t.Errorf("until %v, want %v", v.Until, want)
			}
		})
	}
}

func TestWindowsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		spec syncwindow.Spec
		want string
	}{
		"kind":           {syncwindow.Spec{Kind: "maybe", Schedule: "* * * * *", Duration: "1h"}, "kind"},
		"four fields":    {syncwindow.Spec{Kind: "deny", Schedule: "* * * *", Duration: "1h"}, "schedule"},
		"minute 60":      {syncwindow.Spec{Kind: "deny", Schedule: "60 * * * *", Duration: "1h"}, "schedule"},
		"backwards":      {syncwindow.Spec{Kind: "deny", Schedule: "* 5-3 * * *", Duration: "1h"}, "schedule"},
		"step of zero":   {syncwindow.Spec{Kind: "deny", Schedule: "*/0 * * * *", Duration: "1h"}, "schedule"},
		"no duration":    {syncwindow.Spec{Kind: "deny", Schedule: "* * * * *"}, "duration"},
		"a long one":     {syncwindow.Spec{Kind: "deny", Schedule: "* * * * *", Duration: "9999h"}, "duration"},
		"zone":           {syncwindow.Spec{Kind: "deny", Schedule: "* * * * *", Duration: "1h", TimeZone: "Mars/Olympus"}, "timeZone"},
		"the local zone": {syncwindow.Spec{Kind: "deny", Schedule: "* * * * *", Duration: "1h", TimeZone: "Local"}, "timeZone"},
		"a long line":    {syncwindow.Spec{Kind: "deny", Schedule: strings.Repeat("1,", 300) + "1 * * * *", Duration: "1h"}, "schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := syncwindow.Parse(test.spec); err == nil || !strings.HasPrefix(err.Error(), test.want+":") {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzSchedule(f *testing.F) {
	for _, line := range []string{"*/15 8-18 1,15 jan-mar mon", "@daily", "5/10 * * * 7"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		w, err := syncwindow.Parse(syncwindow.Spec{Kind: "deny", Schedule: line, Duration: "1m"})
		if err == nil {
			w.Open(time.Unix(1e9, 0))
		}
	})
}

func TestNextOfASchedule(t *testing.T) {
	for _, c := range []struct{ line, after, want string }{
		{"17 2 * * *", "2026-01-05T02:16:59Z", "2026-01-05T02:17:00Z"},
		{"17 2 * * *", "2026-01-05T02:17:00Z", "2026-01-06T02:17:00Z"},
		{"17 2 * * *", "2026-01-05T03:17:00+01:00", "2026-01-06T02:17:00Z"},
		{"0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"0 12 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T12:00:00Z"},
		{"*/20 9 * * mon-fri", "2026-01-09T09:40:00Z", "2026-01-12T09:00:00Z"},
	} {
		s, err := syncwindow.ParseSchedule(c.line)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
			t.Errorf("%q after %s is %v, want %s", c.line, c.after, got, c.want)
		}
	}
	s, err := syncwindow.ParseSchedule("0 0 30 2 *")
	if err != nil || !s.Next(at(t, "2026-01-01T00:00:00Z")).IsZero() {
		t.Errorf("30 February comes: %v", err)
	}
}
