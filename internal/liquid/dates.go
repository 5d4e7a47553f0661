package liquid

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	// The image that renders need not have a zone database, and the zones of
	// all agents must be the same.
	_ "time/tzdata"

	"github.com/osteele/liquid/values"
	"github.com/osteele/tuesday"
)

// dates are Sprig's time functions with the engine's clock and, unless a zone is
// named, in UTC: a machine's local zone must not matter.
func (e *Engine) dates() map[string]any {
	inZone := func(layout string, at any, zone string) (string, error) {
		t, err := e.time(at)
		if err != nil {
			return "", err
		}
		where, err := location(zone)
		if err != nil {
			return "", err
		}
		return t.In(where).Format(layout), nil
	}
	html := func(at any) (string, error) { return inZone(time.DateOnly, at, "UTC") }
	htmlInZone := func(at any, zone string) (string, error) { return inZone(time.DateOnly, at, zone) }
	modify := func(by, at any) (time.Time, error) {
		// The time may come first, as it does in a pipe.
		d, err := time.ParseDuration(text(by))
		if err != nil {
			if d, err = time.ParseDuration(text(at)); err != nil {
				return time.Time{}, errors.New("the text is not a duration such as -1.5h")
			}
			at = by
		}
		t, err := e.time(at)
		return t.Add(d), err
	}
	toDate := func(layout, s string) (time.Time, error) { return time.Parse(layout, s) }
	return map[string]any{
		"ago": func(at any) (string, error) {
			t, err := e.time(at)
			return e.now.Sub(t).Round(time.Second).String(), err
		},
		"now":        func(...any) time.Time { return e.now },
		"uuidv4":     newUUID,
		"dateInZone": inZone, "date_in_zone": inZone,
		"htmlDate": html, "htmlDateInZone": htmlInZone,
		"dateModify": modify, "date_modify": modify, "mustDateModify": modify, "must_date_modify": modify,
		"toDate": toDate, "mustToDate": toDate,
		"unixEpoch": func(at any) (string, error) {
			t, err := e.time(at)
			return strconv.FormatInt(t.Unix(), 10), err
		},
		"durationRound": e.durationRound,
	}
}

func location(zone string) (*time.Location, error) {
	if zone == "Local" {
		return time.UTC, nil
	}
	where, err := time.LoadLocation(zone)
	if err != nil {
		return nil, errors.New("there is no time zone of this name")
	}
	return where, nil
}

// time converts a time, seconds since 1970, or a text such as "2026-11-01".
func (e *Engine) time(v any) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return e.now, nil
	case time.Time:
		return v, nil
	case *time.Time:
		if v == nil {
			return e.now, nil
		}
		return *v, nil
	case string:
		if v = strings.TrimSpace(v); v == "now" || v == "today" {
			return e.now, nil
		}
		t, err := values.ParseDate(v)
		if err != nil {
			return t, errors.New("the text is not a time")
		}
		return t, nil
	}
	if !isNumber(v) {
		return time.Time{}, fmt.Errorf("wants a time, got %s", kind(v))
	}
	seconds, err := strconv.ParseFloat(text(v), 64)
	if err != nil || seconds < -1e15 || seconds > 1e15 {
		return time.Time{}, errors.New("wants a time, got a number out of range")
	}
	return time.Unix(int64(seconds), 0).UTC(), nil
}

// date is Liquid's, with a strftime layout after the time, or Sprig's, with a Go
// layout before it.
func (e *Engine) date(v any, args ...any) (any, error) {
	if len(args) == 1 {
		if layout, ok := v.(string); ok {
			if _, isTime := args[0].(time.Time); isTime || isNumber(args[0]) {
				t, err := e.time(args[0])
				return t.UTC().Format(layout), err
			}
		}
	}
	if v == nil {
		return nil, nil
	}
	t, err := e.time(v)
	if err != nil {
		return nil, err
	}
	layout := "%a, %b %d, %y"
	if len(args) > 0 {
		layout = text(args[0])
	}
	return tuesday.Strftime(layout, t)
}

// durationRound returns the largest unit of a duration: 2h10m is 2h.
func (e *Engine) durationRound(v any) (string, error) {
	var d time.Duration
	switch v := v.(type) {
	case string:
		d, _ = time.ParseDuration(v)
	case time.Duration:
		d = v
	case time.Time:
		d = e.now.Sub(v)
	default:
		n, err := number(v)
		if err != nil {
			return "", err
		}
		seconds, _ := strconv.ParseInt(strings.SplitN(text(n), ".", 2)[0], 10, 64)
		d = time.Duration(seconds)
	}
	d = d.Abs()
	const day = 24 * time.Hour
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"y", 365 * day}, {"mo", 30 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if d > unit.is {
			return strconv.FormatInt(int64(d/unit.is), 10) + unit.name, nil
		}
	}
	return "0s", nil
}
