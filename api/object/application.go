package object

import "github.com/axle-cd/axle/internal/rule"

// Application is a client of the hub's identity provider.
var Application = stored(Kind{
	Name: "Application", Text: "An application that the hub signs people in to, with its client, who may log in, and the Secret that it reads.",
	Noun: "applications", Words: []string{"application", "applications", "app", "apps"},
	Storage: &Storage{
		Called: "application", Short: "axapp", Settings: "ApplicationSettings", File: "application", InProject: true,
		Write: "write", Prefix: rule.ClientPrefix, Limit: 5000, Columns: []string{"project", "cluster", "namespace"},
		Example: `{"project": "default", "title": "Wiki", "redirectUris": ["http://127.0.0.1/callback"], "public": true, "users": ["ada@example.com"]}`,
		Examples: []string{
			"apply grafana --project shop --cluster edge-1 --namespace monitoring --secret grafana-oidc --redirect-uris https://grafana.shop.example.com/login/generic_oauth --groups shop-admins",
			"list", "get grafana -o yaml", "delete grafana",
		},
	},
	Fields: Fields{
		"name":              {Required: true, Immutable: true, Rule: rule.Label, Text: "The name, which cannot change."},
		"project":           {Required: true, Immutable: true, Reference: "Project"},
		"cluster":           {Reference: "Cluster"},
		"redirect_uris":     {Set: true},
		"users":             {Set: true},
		"groups":            {Set: true},
		"signing_algorithm": {Enum: rule.SigningAlgorithms},
		"client_id":         {Immutable: true},
		"client_secret":     {Secret: true},

		"post_logout_redirect_uris": {Set: true},
	},
})
