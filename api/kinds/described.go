package kinds

import (
	"maps"

	"github.com/axle-cd/axle/api/object"
)

// described are the kinds whose description says all of it: those with manifests of the
// existing group, and those of the hub's table of objects. The latter are full as soon as the
// hub has their objects; a description says what does not happen with them yet.
func described() (all []Kind) {
	for _, k := range object.All {
		switch {
		case k.Manifest != nil:
			all = append(all, Kind{Group: Deployments, Name: k.Name, Level: Full, Says: k.Summary(), NotActing: k.Manifest.NotActing})
		case k.Storage != nil:
			all = append(all, Kind{Group: Axle, Name: k.Name, Level: Full, Says: k.Summary()})
		}
	}
	return all
}

// describedWrites are the calls that write objects of those kinds.
func describedWrites() (all []Write) {
	for _, k := range object.All {
		fields := map[string]string{"name": "spec.name", "settings": "spec", "dry_run": OfTheCall, "management": OfTheCall}
		if k.Manifest == nil && k.Storage == nil {
			continue
		}
		if k.Manifest != nil {
			maps.Copy(fields, k.Manifest.Paths)
		}
		if k.Storage != nil {
			fields["revision"] = OfTheCall
		}
		all = append(all, Write{k.Calls.Path(k.Calls.Update), k.Name, nil, "spec", fields},
			Write{k.Calls.Path(k.Calls.Delete), k.Name, nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}})
	}
	return all
}
