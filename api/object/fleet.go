package object

import "github.com/axle-cd/axle/internal/rule"

// Project is described by the request CreateProjectRequest.
var Project = Kind{
	Name: "Project", Request: "CreateProjectRequest", Text: "A project groups clusters, repositories and services for access.",
	Diagnostic: true, Noun: "projects", Flags: []string{"project"},
	Calls: created("Projects"), Listing: "All projects that the caller may read.", Formerly: "plural_project",
	Fields: Fields{
		"CreateProjectRequest.name":                {Required: true, Immutable: true, Rule: rule.Label, Text: "The name, which cannot change."},
		"CreateProjectRequest.limits":              {Skip: true},
		"CreateProjectRequest.administrators_only": {Immutable: true, Text: "No role binding gives rights in it: only administrators have them."},
		"CreateProjectRequest.description":         {Text: "For people."},
	},
}

// ProjectLimits is described by the request UpdateProjectRequest.
var ProjectLimits = Kind{
	Name: "ProjectLimits", Request: "UpdateProjectRequest", Text: "The limits of the services of a project: where they may write, and when. Limits have a manager of their own, so that the project can be somebody else's.",
	Fields: Fields{
		"UpdateProjectRequest.name":        {Required: true, Immutable: true, As: "project", Text: "The project.", Reference: "Project"},
		"UpdateProjectRequest.description": {Skip: true},
		"UpdateProjectRequest.limits":      {Flat: true},
		"ProjectLimits.namespaces":         {Set: true},
		"ProjectLimits.kinds":              {Set: true},
		"ProjectLimits.accounts":           {Set: true},
		"ProjectLimits.domains":            {Set: true, Rule: rule.Domain},
	},
}

// Cluster is described by the request CreateClusterRequest.
var Cluster = Kind{
	Name: "Cluster", Request: "CreateClusterRequest", Text: "A Kubernetes cluster where services run. With `agent`, the provider installs the agent as well.",
	Noun: "clusters", Flags: []string{"cluster", "clusters", "ignore-cluster"},
	Calls: created("Clusters"), Listing: "Clusters, with what their agents report.", Also: "handle", Formerly: "plural_cluster",
	Fields: Fields{
		"CreateClusterRequest.name":        {Required: true, Immutable: true, Rule: rule.Label, Text: "The name, which cannot change."},
		"CreateClusterRequest.handle":      {SameAs: "name", Rule: rule.Label, Text: "The short name used in URLs and templates."},
		"CreateClusterRequest.project":     {Computed: true, Immutable: true, Text: "The project of the cluster. Empty is the default one.", Reference: "Project"},
		"CreateClusterRequest.metadata":    {JSON: true, Default: "{}", Text: "A JSON object, for templates."},
		"CreateClusterRequest.renew_token": {Skip: true},

		"CreateClusterRequest.from_template": {Flat: true},
		"FromTemplate.template":              {Declared: true, Immutable: true, Other: "origin.template", Text: "Cluster template that the hub makes the cluster from. Without it somebody else makes the cluster."},
		"FromTemplate.variables":             {Declared: true, JSON: true, Other: "origin.given", Text: "JSON object with the variables of the template. A change of them changes the cluster."},
		"FromTemplate.management_cluster":    {Declared: true, Immutable: true, Other: "origin.management_cluster", Text: "Management cluster that makes the cluster, one of the template's. Unset if the template has only one."},
		"FromTemplate.set":                   {Skip: true},

		"CreateClusterRequest.tags":         {Text: "Tags, which global services and filters select clusters by."},
		"UpdateClusterRequest.set_tags":     {Default: true},
		"UpdateClusterRequest.set_metadata": {Default: true},
	},
}

// AgentUpgrade is described by the request StartUpgradeRequest.
var AgentUpgrade = Kind{
	Name: "AgentUpgrade", Request: "StartUpgradeRequest", Text: "The version of the agents, and the waves in which they get it. Agents keep their version when the resource is destroyed.",
	Fields: Fields{
		"StartUpgradeRequest.version": {Computed: true},
		"StartUpgradeRequest.waves":   {Computed: true},
	},
}

// HubSettings is described by the request SyncWindowList.
var HubSettings = Kind{
	Name: "HubSettings", Request: "SyncWindowList", Text: "The sync windows that apply to every service.",
	Fields: Fields{
		"SyncWindowList.sync_windows": {Required: true, Text: "The windows; an empty list is none."},
		"SyncWindowList.managed_by":   {Skip: true},
	},
}
