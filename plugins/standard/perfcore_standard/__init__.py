"""Nothing but requirements: perfcore with the plugins that most people want."""
