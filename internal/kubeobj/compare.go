package kubeobj

// FieldChange is one field and who wrote it.
type FieldChange struct {
	// Path is as ".spec.template.spec.containers[name=\"app\"].image".
	Path string
	// Manager is the field manager that wrote it last.
	Manager string
	// Removed says that it was taken away; nobody knows by whom.
	Removed bool
}

// Healed is an object that was put back.
type Healed struct {
	Ref Ref
	// Made says that it was deleted, and made again.
	Made bool
	// Fields are those that were taken back, or taken away; none when only the
	// marks had been changed.
	Fields []FieldChange
}

// Deviation is how an object is not as it was applied.
type Deviation int

// The deviations.
const (
	// Intact: it is as it was applied, or what differs is nobody's concern: work
	// that has ended, an object that another one controls or that is being
	// deleted.
	Intact Deviation = iota
	// Absent: it was deleted.
	Absent
	// Unmarked: our annotations were changed.
	Unmarked
	// Changed: fields that the service sets were.
	Changed
	// Added: a person's tool set fields that the service does not.
	Added
)

func (d Deviation) String() string {
	switch d {
	case Absent:
		return "it was deleted"
	case Unmarked:
		return "its marks were changed"
	case Changed:
		return "fields that the service sets were changed"
	case Added:
		return "fields were added that the service does not set"
	}
	return "it is as it was applied"
}

// Compare says how a live object deviates from what was applied. Drift, the pass
// and the diff all ask it, so that they never contradict each other.
func Compare(want Expected, live Live, found bool) Deviation {
	switch {
	case !found && want.Once:
		return Intact
	case !found:
		return Absent
	case live.Controlled || live.Deleting:
		return Intact
	case live.Service != want.Service || !live.Tracked:
		return Unmarked
	case want.Once:
		return Intact
	case !live.Print.OwnIntact(want.Print):
		return Changed
	case live.Print.Foreign != want.Print.Foreign && live.Print.Foreign != 0:
		return Added
	}
	return Intact
}
