package helm

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/manifest"
)

// templatePlace matches the position of an error in the engine's message.
var templatePlace = regexp.MustCompile(`([\w.@+-]+(?:/[\w.@+ -]+)+):(\d+)(?::\d+)?`)

// explain takes the first template and line from the engine's error, which is the
// template being rendered.
func (rel *release) explain(err error) error {
	message := strings.Join(strings.Fields(err.Error()), " ")
	bad := &manifest.Error{File: path.Join(rel.Dir, "templates"), Message: message}
	if found := templatePlace.FindStringSubmatchIndex(message); found != nil {
		bad.File = rel.file(message[found[2]:found[3]])
		bad.Line, _ = strconv.Atoi(message[found[4]:found[5]])
		rest := strings.TrimLeft(message[found[1]:], "): ")
		if lead, _, ok := strings.Cut(message[:found[0]], " ("); ok || lead == "" {
			bad.Message = rest
		}
	}
	return bad
}
