package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// owned is the part of an object that the verdict needs.
type owned struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int `json:"replicas"`
	} `json:"spec"`
	Status struct {
		AvailableReplicas int `json:"availableReplicas"`
	} `json:"status"`
}

const (
	managedLabel      = "axle-cd.github.io/managed"
	serviceAnnotation = "axle-cd.github.io/service"
)

// objects reads the objects managed by the agent from an API server.
func (d *demo) objects(ctx context.Context, cluster string) ([]owned, error) {
	result, err := d.world.Kubectl(ctx, cluster, "get", "deployments,services,configmaps", "-A", "-l", managedLabel, "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []owned `json:"items"`
	}
	return list.Items, json.Unmarshal([]byte(result.Out), &list)
}

// verdict reads the result from the API servers, not from the hub.
func (d *demo) verdict(ctx context.Context, commit string, seconds float64) error {
	d.chapter("The verdict, read from the API servers")
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tSERVICE\tREVISION\tHEALTH\tOBJECTS\tGREETING")
	bad := 0
	for _, cluster := range d.clusters {
		all, err := d.objects(ctx, cluster)
		if err != nil {
			return err
		}
		for _, s := range d.services {
			result, err := d.world.Kubectl(ctx, cluster, append([]string{"--namespace", s.name, "get"}, s.look...)...)
			if err != nil {
				return err
			}
			health, count := judge(all, s.name)
			revision := fmt.Sprintf("%.8s", commit)
			if result.Out != "world" {
				revision = "older"
			}
			if health != "Healthy" || revision == "older" {
				bad++
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", cluster, s.name, revision, health, count, result.Out)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d services are not healthy at %.8s", bad, len(d.clusters)*len(d.services), commit)
	}
	fmt.Println()
	fmt.Fprintln(w, "KUBECTL ON EDGE-1\tTHROUGH THE HUB\tDIRECTLY\tANSWERS")
	for _, a := range d.asked {
		fmt.Fprintf(w, "%s\t%.2f s\t%.2f s\tthe same %d lines\n", a.what, a.through.Seconds(), a.direct.Seconds(), a.lines)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d services Healthy at %.8s on %d clusters; %.2f s from push to applied (webhook and hint); %.1f s in all\n",
		len(d.clusters)*len(d.services), commit, len(d.clusters), seconds, time.Since(d.started).Seconds())
	return nil
}

// judge returns the health and the number of a service's objects.
func judge(all []owned, namespace string) (health string, count int) {
	health = "Healthy"
	for _, o := range all {
		if o.Metadata.Namespace != namespace || o.Metadata.Annotations[serviceAnnotation] == "" {
			continue
		}
		count++
		if o.Kind == "Deployment" && o.Spec.Replicas != nil && o.Status.AvailableReplicas < *o.Spec.Replicas {
			health = "Progressing"
		}
	}
	if count == 0 {
		health = "Missing"
	}
	return health, count
}

// ownRepository runs the demo with the user's own repository, without claims about
// its content.
func (d *demo) ownRepository(ctx context.Context) error {
	d.chapter("Add your repository and deliver " + d.folder + " of it to both clusters")
	d.repoURL = d.repo
	if info, err := os.Stat(d.repo); err == nil && info.IsDir() {
		path, err := filepath.Abs(d.repo)
		if err != nil {
			return err
		}
		if err := d.world.Git.Create(ctx, "fleet"); err != nil {
			return err
		}
		push := exec.CommandContext(ctx, "git", "-C", path, "push", "--quiet", d.world.Git.Path("fleet"), "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*")
		if out, err := push.CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w: %s", path, err, out)
		}
		d.repoURL = d.world.Git.URL("fleet")
		d.say("a copy of %s is served at %s", path, d.repoURL)
	}
	if _, err := d.axle(ctx, "repos", "add", "fleet", d.repoURL); err != nil {
		return err
	}
	d.services = []service{{name: "own", folder: d.folder}}
	for _, cluster := range d.clusters {
		if err := d.createServices(ctx, cluster); err != nil {
			return err
		}
	}
	out, err := d.axle(ctx, "services", "wait", "--all", "--timeout", "3m")
	if err != nil {
		return err
	}
	fmt.Print(out)
	if d.repoURL != d.repo {
		// Only a copy can be disconnected.
		if err := d.addWebhook(ctx); err != nil {
			return err
		}
		if err := d.outage(ctx); err != nil {
			return err
		}
	}
	d.chapter("The verdict, read from the API servers")
	for _, cluster := range d.clusters {
		all, err := d.objects(ctx, cluster)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o owned) bool { return o.Metadata.Annotations[serviceAnnotation] == "" })
		for _, o := range all {
			d.say("%s: %s %s", cluster, o.Kind, strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/"))
		}
	}
	out, err = d.axle(ctx, "services", "list")
	fmt.Print(indent(out))
	return err
}
