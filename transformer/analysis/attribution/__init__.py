"""Where an output word came from: pictures of it, and how far each agrees with taking words away."""
