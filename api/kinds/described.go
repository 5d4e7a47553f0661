package kinds

import (
	"maps"

	"github.com/axle-cd/axle/api/object"
)

func init() {
	for _, k := range object.All {
		if k.Manifest == nil {
			continue
		}
		All = append(All, Kind{Group: Deployments, Name: k.Name, Level: Full, Says: k.Text, NotActing: k.Manifest.NotActing})
		fields := map[string]string{"name": "spec.name", "settings": "spec", "dry_run": OfTheCall, "management": OfTheCall}
		maps.Copy(fields, k.Manifest.Paths)
		Writes = append(Writes,
			Write{k.Calls.Path(k.Calls.Update), k.Name, nil, "spec", fields},
			Write{k.Calls.Path(k.Calls.Delete), k.Name, nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}})
	}
}
