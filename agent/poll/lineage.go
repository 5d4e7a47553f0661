package poll

// Lineage says how the hub's incarnation follows from the one known before.
type Lineage string

// The lineages, as named in agent/hubclient.
const (
	SameLife Lineage = "same"
	Resumed  Lineage = "resumed"
	Restored Lineage = "restored"
)

// Hold is what every delete waits for: prunes, drains and detaches. It survives a
// restart. After a restore nothing is deleted until a person confirms, and until the hub
// has a whole report.
//
//	(none) --Resumed--> reports --(a whole report was taken)--> (none)
//	(any) --Restored--> restored --(the list says confirmed)--> reports
type Hold string

// The holds.
const (
	// NoHold: deletes do not wait.
	NoHold Hold = ""
	// ForReports waits until the hub knows again what this cluster runs.
	ForReports Hold = "reports"
	// ForPerson waits for a person: the hub may have lost services that this
	// cluster was given.
	ForPerson Hold = "restored"
)

// After is the hold after a list of that lineage was accepted.
func (h Hold) After(lineage Lineage, confirmed bool) Hold {
	switch {
	case confirmed && (h == ForPerson || lineage != SameLife):
		return ForReports
	case lineage == Restored:
		return ForPerson
	case lineage == Resumed && h != ForPerson:
		return ForReports
	}
	return h
}

// Words is the explanation for people; empty without a hold.
func (h Hold) Words() string {
	switch h {
	case ForPerson:
		return "the hub was restored from a backup and may have forgotten services; nothing is deleted until somebody runs `axle hub confirm-restore`"
	case ForReports:
		return "the hub has a new incarnation; nothing is deleted until it knows again what this cluster runs"
	}
	return ""
}
