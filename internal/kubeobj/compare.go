package kubeobj

// FieldChange is one field and its writer.
type FieldChange struct {
	// Path is such as ".spec.template.spec.containers[name=\"app\"].image".
	Path string
	// Manager is the field manager that wrote it last.
	Manager string
	// Removed says that it was removed; it is not known by whom.
	Removed bool
}

// Healed is an object that was restored.
type Healed struct {
	Ref Ref
	// Made says that it had been deleted and was created again.
	Made bool
	// Same says that no value was restored: only fields that are left to others had
	// changed, in a list or map that is owned as a whole.
	Same bool
	// Fields are those that were restored or removed; none if only the marks had
	// changed.
	Fields []FieldChange
}

// Deviation is how an object differs from what was applied.
type Deviation int

// The deviations.
const (
	// Intact: it is as it was applied, or the difference does not matter: the object
	// is work that has ended, has another controller, or is being deleted.
	Intact Deviation = iota
	// Absent: it was deleted.
	Absent
	// Unmarked: our annotations were changed.
	Unmarked
	// Changed: fields that the service sets were changed.
	Changed
	// Added: a person's tool set fields that the service does not set.
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

// Compare says how a live object differs from what was applied. Drift, the pass and
// the diff all use it, so that they never contradict each other.
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
