package fleet

import (
	"fmt"
	"strings"
)

// maxHealedFields limits the fields that a sentence names.
const maxHealedFields = 5

// Heal is an object of a service that its agent healed.
type Heal struct {
	// Number counts the heals of one boot of the agent, from 1.
	Number    int64
	ServiceID string
	// At is microseconds since 1970 UTC, by the agent's clock.
	At int64
	// Object is "Kind namespace/name".
	Object string
	// Fields are the fields that differed; none when the object was gone.
	Fields []DriftedField
	// Times is how often the same object was healed meanwhile; 0 and 1 mean
	// once.
	Times int
}

// DriftedField is a field that differed from its declaration. Manager wrote it last,
// empty when the API server does not say.
type DriftedField struct{ Path, Manager string }

// newHeals returns the heals with a number above that of the last recorded one, by
// service, and the highest number.
func newHeals(all []Heal, taken int64) (byService map[string][]Heal, last int64) {
	byService, last = map[string][]Heal{}, taken
	for _, h := range all {
		if h.Number > taken {
			last = max(last, h.Number)
			byService[h.ServiceID] = append(byService[h.ServiceID], h)
		}
	}
	return byService, last
}

// healSentence describes heals of one service in one report: objects, fields and who
// wrote them, never a value. Of several objects it names the first.
func healSentence(all []Heal) string {
	switch more := len(all) - 1; more {
	case 0:
		return all[0].String()
	case 1:
		return all[0].String() + "; and 1 more object"
	default:
		return fmt.Sprintf("%s; and %d more objects", all[0], more)
	}
}

// String says what was healed, and who had changed it.
func (h Heal) String() string {
	text := h.Object + " was gone and was created again"
	if n := len(h.Fields); n > 0 {
		var fields []string
		for _, f := range h.Fields[:min(n, maxHealedFields)] {
			if f.Manager != "" {
				f.Path += " (by " + f.Manager + ")"
			}
			fields = append(fields, f.Path)
		}
		if n > maxHealedFields {
			fields = append(fields, fmt.Sprintf("and %d more", n-maxHealedFields))
		}
		text = h.Object + ": put back " + strings.Join(fields, ", ")
	}
	if h.Times > 1 {
		text += fmt.Sprintf(", %d times", h.Times)
	}
	return text
}
