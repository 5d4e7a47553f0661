package render

import (
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/vendored"
)

// leftOut warns of what the hub left out of the files, and has a renderer that reads it
// get the reason.
func (p *pass) leftOut() {
	for _, name := range p.files.Below(".") {
		at, ok := strings.CutSuffix("/"+name, "/"+vendored.Map)
		if !ok {
			continue
		}
		text, err := p.files.Read(name)
		if err != nil {
			continue // the renderer that looks references up reports it
		}
		contents, err := vendored.Decode(text)
		if err != nil {
			continue
		}
		for _, l := range contents.LeftOut {
			place := path.Join(strings.TrimPrefix(at, "/"), l.Path)
			p.files.LeaveOut(place, l.Reason)
			p.warnings = append(p.warnings, place+": "+l.Reason)
		}
	}
}
