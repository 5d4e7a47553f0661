// Package unified compares two texts line by line, in the format of patch tools. It
// knows no files and writes nothing.
package unified

import (
	"fmt"
	"strings"
)

// unifiedContext is how many unchanged lines surround a change.
const unifiedContext = 3

// line is one line of a unified diff: ' ', '-' or '+', then the text.
type line struct {
	mark byte
	text string
}

// Hunks returns the hunks that turn one text into another, empty when they
// are equal.
func Hunks(from, to string) []string {
	all := compareLines(lines(from), lines(to))
	var out []string
	for start := 0; start < len(all); {
		if all[start].mark == ' ' {
			start++
			continue
		}
		// A hunk continues while changes are near each other.
		end, quiet := start, 0
		for next := start; next < len(all) && quiet <= 2*unifiedContext; next++ {
			if all[next].mark == ' ' {
				quiet++
				continue
			}
			end, quiet = next+1, 0
		}
		low, high := max(0, start-unifiedContext), min(len(all), end+unifiedContext)
		out = append(out, header(all, low, high))
		for _, l := range all[low:high] {
			out = append(out, string(l.mark)+l.text)
		}
		start = end
	}
	return out
}

// header is the "@@ -from,count +to,count @@" of a hunk.
func header(all []line, low, high int) string {
	count := func(part []line, mark byte) (n int) {
		for _, l := range part {
			if l.mark == ' ' || l.mark == mark {
				n++
			}
		}
		return n
	}
	span := func(mark byte) string {
		start, n := count(all[:low], mark)+1, count(all[low:high], mark)
		if n == 0 {
			start--
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	return "@@ -" + span('-') + " +" + span('+') + " @@"
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxCompared bounds the table of a comparison; larger texts are shown as replaced
// where they differ.
const maxCompared = 4 << 20

// compareLines finds the longest common lines.
func compareLines(a, b []string) []line {
	var head, tail []line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head, a, b = append(head, line{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail, a, b = append([]line{{' ', a[len(a)-1]}}, tail...), a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, middle(a, b)...), tail...)
}

func middle(a, b []string) []line {
	var out []line
	i, j := 0, 0
	if len(a)*len(b) <= maxCompared {
		// longest[i][j] is for a[i:] and b[j:].
		longest := make([][]int, len(a)+1)
		for i := range longest {
			longest[i] = make([]int, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out, i, j = append(out, line{' ', a[i]}), i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				out, i = append(out, line{'-', a[i]}), i+1
			default:
				out, j = append(out, line{'+', b[j]}), j+1
			}
		}
	}
	for ; i < len(a); i++ {
		out = append(out, line{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, line{'+', b[j]})
	}
	return out
}
