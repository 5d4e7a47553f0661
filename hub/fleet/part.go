package fleet

import (
	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/fleet/specrules"
)

// ChartPath is where the chart of a service with other files lies.
const ChartPath = specrules.ChartPath

// Part is the content of one source of a service in a revision.
type Part struct {
	Path     string `json:"path,omitempty"`
	Name     string `json:"name,omitempty"`
	SourceID string `json:"source"`
	Content
}

// Follows returns the sources that the service follows, in order.
func (s Service) Follows() []Place {
	if len(s.Places) > 0 || s.SourceID == "" {
		return s.Places
	}
	return []Place{{SourceID: s.SourceID, RepositoryID: s.RepositoryID}}
}

// Bound returns what the sources of the service's spec are bound to.
func (s Service) Bound() Bound { return binding.Of(s.Spec, s.Follows()) }

// contents returns the parts of the current revision; nil while it has none.
func (s Service) contents() []Part {
	if len(s.Parts) > 0 || s.Desired.Digest == "" {
		return s.Parts
	}
	return []Part{{SourceID: s.SourceID, Content: s.Desired}}
}

// HasChartPart reports whether the current revision has a separate chart beside
// the service's files.
func HasChartPart(parts []Part) bool {
	for _, p := range parts {
		if p.Path == ChartPath {
			return true
		}
	}
	return false
}

// follow sets the service's places. The first has its own columns, so a single
// source at the root needs no list.
func (s *Service) follow(places []Place) {
	s.SourceID, s.RepositoryID, s.Places = "", "", nil
	if len(places) == 0 {
		return
	}
	s.SourceID, s.RepositoryID = places[0].SourceID, places[0].RepositoryID
	if len(places) > 1 || places[0].Path != "" {
		s.Places = places
	}
}

// take sets the service's content to the parts.
func (s *Service) take(parts []Part) {
	s.Desired, s.Parts = Content{}, nil
	if len(parts) == 0 {
		return
	}
	s.Desired = parts[0].Content
	if len(parts) > 1 || parts[0].Path != "" {
		s.Parts = parts
	}
}

// present is the content of the heads of some places.
type present struct {
	parts []Part
	// missing is the first place that never had content, -1 when all had.
	missing int
	// failing is set when a source in its current state cannot be used; its
	// part is the last good one.
	failing bool
}

func presentOf(places []Place, heads map[string]Head) present {
	p := present{missing: -1}
	for i, place := range places {
		head := heads[place.SourceID]
		if head.Digest == "" && p.missing < 0 {
			p.missing = i
		}
		p.failing = p.failing || head.Error != ""
		p.parts = append(p.parts, Part{Path: place.Path, Name: place.Name, SourceID: place.SourceID, Content: head.Content})
	}
	return p
}

// sameFiles reports whether two lists of parts have the same files. It ignores
// commits and messages: only the content counts.
func sameFiles(a, b []Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Digest != b[i].Digest || a[i].Entry != b[i].Entry {
			return false
		}
	}
	return true
}
