package generated

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// minSwap is the minimum length of a generated value that is searched for in other
// texts: shorter ones occur by chance.
const minSwap = 8

// swaps replace generated values by those in the cluster.
type swaps []swap

type swap struct{ fresh, live string }

// newSwaps collects the values of all locations that keep their live value.
func newSwaps(locations []*location) swaps {
	known := map[string]string{}
	for _, p := range locations {
		fresh, ok := p.fresh.(string)
		live, isText := p.live.(string)
		if !p.found || !p.in.own || !ok || !isText {
			continue
		}
		if p.pointer == namePointer {
			known[fresh] = live
			continue
		}
		learn(known, fresh, live)
		freshBytes, ok := decode64(fresh)
		if liveBytes, also := decode64(live); ok && also {
			learn(known, freshBytes, liveBytes)
		} else {
			learn(known, encode64(fresh), encode64(live))
		}
	}
	out := make(swaps, 0, len(known))
	for fresh, live := range known {
		out = append(out, swap{fresh, live})
	}
	// Longest first: a value may be a part of another.
	slices.SortFunc(out, func(a, b swap) int {
		if n := len(b.fresh) - len(a.fresh); n != 0 {
			return n
		}
		return strings.Compare(a.fresh, b.fresh)
	})
	return out
}

func learn(known map[string]string, fresh, live string) {
	if len(fresh) >= minSwap && fresh != live {
		known[fresh] = live
	}
}

// apply replaces the values in a text, and in its content if it is Base64.
func (s swaps) apply(text string) string {
	if replaced := s.replace(text); replaced != text {
		return replaced
	}
	if inner, ok := decode64(text); ok {
		if replaced := s.replace(inner); replaced != inner {
			return encode64(replaced)
		}
	}
	return text
}

func (s swaps) replace(text string) string {
	for _, one := range s {
		text = strings.ReplaceAll(text, one.fresh, one.live)
	}
	return text
}

func encode64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// decode64 decodes Base64 of a text.
func decode64(text string) (string, bool) {
	if len(text) < minSwap || len(text)%4 != 0 {
		return "", false
	}
	inner, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}
