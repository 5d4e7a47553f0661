package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bucketserver"
)

// A hub puts backups into a bucket, and the newest of them comes back in the other
// database, with the key file alone.
func TestScheduledBackupsComeBack(t *testing.T) {
	for name, urls := range map[string]func(t *testing.T) (from, to string){
		"sqlite to postgres": func(t *testing.T) (string, string) { return "", hubtest.Postgres(t) },
		"postgres to sqlite": func(t *testing.T) (string, string) { return hubtest.Postgres(t), "" },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := urls(t)
			store := bucketserver.Start(t)
			schedule := backup.Schedule{To: "s3://" + bucketserver.Bucket + "/axle", Access: backup.Access{
				Endpoint: store.URL, Region: bucketserver.Region, CredentialsFile: bucketserver.CredentialsFile(t, ""),
			}}
			first := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DatabaseURL: from}})
			if _, err := first.Parts().Fleet.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
				t.Fatal(err)
			}
			if err := first.Stop(); err != nil {
				t.Fatal(err)
			}
			// The first backup of a schedule is made at the start.
			config := hubtest.Config{DataDir: first.DataDir, Hub: hubtest.HubConfig{DatabaseURL: from, Backup: schedule}}
			second := hubtest.New(t, config)
			eventually.For(t, time.Minute, "a backup", func() error {
				setting, err := second.Parts().Store.Setting(t.Context(), "backup")
				if err == nil && !strings.Contains(setting, `"name":"axle-`) {
					err = fmt.Errorf("the state is %s", setting)
				}
				return err
			})
			if err := second.Stop(); err != nil {
				t.Fatal(err)
			}
			restored := hubtest.Config{DataDir: hubtest.Folder(t), Hub: hubtest.HubConfig{
				DatabaseURL: to, KeyFile: first.DataDir + "/hub.key", Backup: backup.Schedule{Access: schedule.Access},
			}}
			if err := hubtest.Restore(t.Context(), restored, schedule.To+"/"); err != nil {
				t.Fatal(err)
			}
			restored.Hub.Backup, restored.AdminToken = backup.Schedule{}, first.AdminToken
			third := hubtest.New(t, restored)
			projects, err := third.Parts().Store.Projects(t.Context())
			if err != nil || len(projects) != 2 {
				t.Errorf("%v came back, %v", projects, err)
			}
		})
	}
}
