package hub

import (
	"fmt"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
)

// backupsView are the backups that the hub makes on a schedule. Texts of what never
// happened are empty.
type backupsView struct {
	To           string `json:"to"`
	Schedule     string `json:"schedule"`
	DueAt        string `json:"dueAt"`
	RunningSince string `json:"runningSince"`
	LastName     string `json:"lastName"`
	LastAt       string `json:"lastAt"`
	LastAge      string `json:"lastAge"`
	LastBytes    int64  `json:"lastBytes"`
	FailedAt     string `json:"failedAt"`
	FailedAge    string `json:"failedAge"`
	Failure      string `json:"failure"`
}

func backups(a *command.App, b *hubv1.Backups) *backupsView {
	if b == nil {
		return nil
	}
	return &backupsView{
		To: b.GetTo(), Schedule: b.GetSchedule(), DueAt: fields.Stamp(b.GetDueAt()), RunningSince: fields.Stamp(b.GetRunningSince()),
		LastName: b.GetLastName(), LastAt: fields.Stamp(b.GetLastAt()), LastAge: a.Age(b.GetLastAt()), LastBytes: b.GetLastBytes(),
		FailedAt: fields.Stamp(b.GetFailedAt()), FailedAge: a.Age(b.GetFailedAt()), Failure: b.GetFailure(),
	}
}

// line is what the human-readable status shows.
func (v *backupsView) line() string {
	if v == nil {
		return "none are scheduled; axle-hub serve --backup-to makes them"
	}
	line := "none yet"
	if v.LastName != "" {
		line = fmt.Sprintf("%s, %d kB, %s", command.Ago(v.LastAge), (v.LastBytes+999)/1000, v.LastName)
	}
	line += " in " + v.To
	if v.RunningSince != "" {
		return line + "; one is being made since " + v.RunningSince
	}
	if v.Failure != "" {
		return line + "\nfailed " + command.Ago(v.FailedAge) + ": " + v.Failure
	}
	return line + "; the next at " + v.DueAt
}
