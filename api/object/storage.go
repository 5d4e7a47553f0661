package object

import (
	"maps"
	"strings"
)

// Storage describes a kind whose objects are in the hub's table of objects. Its service,
// messages, storage, rules, events, audit records, commands and manifests are made of its
// description; only the message of its settings is written by hand. Unless they are in
// projects, its objects are of the hub as a whole: whoever may read something reads them.
type Storage struct {
	// Called is one object for people, "cluster template".
	Called string
	// Short is the short name of the kind for kubectl.
	Short string
	// Settings is the message of axle.hub.v1 that people write, in the file File.proto.
	Settings, File string
	// InProject is set for objects that are in the project that their field project names,
	// which cannot change: they are read and written with rights in it.
	InProject bool
	// Write is the right that Apply and Delete need, in the project or on the hub as a whole.
	Write string
	// Prefix begins the ids.
	Prefix string
	// Limit is how many objects a hub has.
	Limit int
	// Effect is a sentence about what does not work yet; empty when the kind acts.
	Effect string
	// Columns are the fields of the settings that lists show.
	Columns []string
	// Example are the settings of one, as JSON of the API. It names only the repository fleet.
	Example string
	// Examples are lines of commands that follow the Noun.
	Examples []string
}

// Administrators is the right to write what only administrators write.
const Administrators = "admin"

// Plural is several objects for people.
func (s *Storage) Plural() string { return s.Called + "s" }

// Topic is the noun in names of events and audit records: "cluster_template".
func (s *Storage) Topic() string { return strings.ReplaceAll(s.Called, " ", "_") }

// stored completes the description of a kind in the table of objects: its request, its
// calls, and the fields that are not of its settings.
func stored(k Kind) Kind {
	k.Request, k.Calls = "Apply"+k.Name+"Request", applied(k.Name+"s")
	k.Listing = strings.ToUpper(k.Storage.Called[:1]) + k.Storage.Plural()[1:] + "."
	fields := Fields{}
	for name, f := range k.Fields {
		fields[k.Storage.Settings+"."+name] = f
	}
	maps.Copy(fields, Fields{
		k.Request + ".name":     k.Fields["name"],
		k.Request + ".settings": {Flat: true},
		k.Request + ".dry_run":  {Skip: true},
		k.Request + ".revision": {Skip: true},
	})
	delete(fields, k.Storage.Settings+".name")
	k.Fields = fields
	return k
}

// Stored are the kinds in the hub's table of objects.
func Stored() (all []Kind) {
	for _, k := range All {
		if k.Storage != nil {
			all = append(all, k)
		}
	}
	return all
}
