package syncwindow

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Schedule is a cron line of five fields, a bit for each value.
type Schedule struct {
	minute, hour, day, month, weekday uint64
	// anyDay and anyWeekday say that the field was "*". If neither was, one of the
	// two must match.
	anyDay, anyWeekday bool
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

var shorthands = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// maxSchedule bounds the length of a cron line.
const maxSchedule = 200

// ParseSchedule parses a cron line. Errors have no code and begin with no name.
func ParseSchedule(line string) (Schedule, error) {
	var s Schedule
	if len(line) > maxSchedule {
		return s, fmt.Errorf("the cron line has more than %d characters", maxSchedule)
	}
	if long, ok := shorthands[strings.TrimSpace(line)]; ok {
		line = long
	}
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return s, fmt.Errorf("%q has %d fields; cron wants minute, hour, day of the month, month, day of the week", line, len(fields))
	}
	s.anyDay, s.anyWeekday = strings.HasPrefix(fields[2], "*"), strings.HasPrefix(fields[4], "*")
	for i, f := range []struct {
		into     *uint64
		what     string
		min, max int
		names    []string
	}{
		{&s.minute, "minute", 0, 59, nil}, {&s.hour, "hour", 0, 23, nil}, {&s.day, "day of the month", 1, 31, nil},
		{&s.month, "month", 1, 12, months}, {&s.weekday, "day of the week", 0, 7, weekdays},
	} {
		bits, err := parseField(fields[i], f.min, f.max, f.names)
		if err != nil {
			return s, fmt.Errorf("the %s %q: %w", f.what, fields[i], err)
		}
		*f.into = bits
	}
	if s.weekday&(1<<7) != 0 {
		s.weekday |= 1
	}
	return s, nil
}

func parseField(field string, low, high int, names []string) (uint64, error) {
	var bits uint64
	for part := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 || n > high {
				return 0, fmt.Errorf("the step %q is not a number from 1 to %d", stepText, high)
			}
			step = n
		}
		from, to := low, high
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			var err error
			if from, err = parseValue(first, low, high, names); err != nil {
				return 0, err
			}
			to = from
			if ranged {
				if to, err = parseValue(last, low, high, names); err != nil {
					return 0, err
				}
			} else if stepped {
				to = high
			}
		}
		if to < from {
			return 0, fmt.Errorf("%d is after %d", from, to)
		}
		for n := from; n <= to; n += step {
			bits |= 1 << n
		}
	}
	return bits, nil
}

func parseValue(text string, low, high int, names []string) (int, error) {
	for i, name := range names {
		if strings.EqualFold(text, name) {
			return i + low, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
	}
	return n, nil
}

// matches reports whether the schedule includes the minute of a wall clock.
func (s Schedule) matches(at time.Time) bool {
	return s.minute&(1<<at.Minute()) != 0 && s.hour&(1<<at.Hour()) != 0 && s.matchesDay(at)
}

func (s Schedule) matchesDay(at time.Time) bool {
	if s.month&(1<<int(at.Month())) == 0 {
		return false
	}
	day, weekday := s.day&(1<<at.Day()) != 0, s.weekday&(1<<int(at.Weekday())) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// never bounds the search of Next: a 29 February comes within eight years.
const never = 8 * 366

// Next returns the first minute of UTC after a time that the schedule includes; the zero
// time if there is none, such as for 30 February.
func (s Schedule) Next(after time.Time) time.Time {
	at := after.UTC().Truncate(time.Minute).Add(time.Minute)
	for days := 0; days < never; {
		if s.matches(at) {
			return at
		}
		next := at.Add(time.Minute)
		if !s.matchesDay(at) {
			y, m, d := at.Date()
			next = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
		}
		if next.Day() != at.Day() {
			days++
		}
		at = next
	}
	return time.Time{}
}
