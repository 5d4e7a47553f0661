package generated

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// minSwap is how long a generated value must be to be looked for in other
// texts: shorter ones occur by chance.
const minSwap = 8

// swaps replace generated values by those that the cluster has for them.
type swaps []swap

type swap struct{ fresh, live string }

// newSwaps learns from every place that keeps its live value.
func newSwaps(places []*place) swaps {
	known := map[string]string{}
	for _, p := range places {
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
	// The longest first: a value may be a part of another.
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

// apply replaces in a text, and in what it encodes when it is Base64.
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

// decode64 decodes what is Base64 of a text.
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
