package agentapi

import (
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// The limits of the heals in one report.
const (
	maxHeals       = 100
	maxHealed      = 10
	maxDriftedText = 253
)

// heals validates the heals that an agent reports.
func heals(all []*agentv1.Heal) ([]fleet.Heal, error) {
	if len(all) > maxHeals {
		return nil, errcode.New(errcode.Invalid, "a report carries at most %d heals; send the others with the next", maxHeals)
	}
	var out []fleet.Heal
	last := int64(0)
	for _, m := range all {
		if m.GetServiceId() == "" || m.GetKind() == "" || m.GetNumber() <= last {
			return nil, errcode.New(errcode.Invalid, "a heal needs a service, a kind and a number above that of the previous one, %d", last)
		}
		last = m.GetNumber()
		object := word(m.GetName())
		if m.GetNamespace() != "" {
			object = word(m.GetNamespace()) + "/" + object
		}
		h := fleet.Heal{Number: last, ServiceID: m.GetServiceId(), At: m.GetAt(), Object: word(m.GetKind()) + " " + object, Times: int(m.GetTimes())}
		for _, f := range m.GetFields()[:min(maxHealed, len(m.GetFields()))] {
			h.Fields = append(h.Fields, fleet.DriftedField{Path: word(f.GetPath()), Manager: word(f.GetManager())})
		}
		out = append(out, h)
	}
	return out, nil
}

// word cleans a name for use in a sentence.
func word(text string) string { return plain.Line(text, maxDriftedText) }
