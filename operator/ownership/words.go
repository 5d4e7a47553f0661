package ownership

import (
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Words is a manager for people.
func Words(by *hubv1.Manager) string {
	switch by.GetTool() {
	case "":
		return "nobody"
	case "cli", "console":
		return "people (" + by.GetTool() + ")"
	case "operator":
		if part := strings.Split(by.GetId(), "/"); len(part) == 4 {
			kind, _, _ := strings.Cut(part[1], ".")
			return "the operator (" + kind + " " + strings.TrimPrefix(part[2]+"/"+part[3], "/") + ")"
		}
	}
	return by.GetTool() + " (" + by.GetId() + ")"
}
